"""pages, made with one column."""
import sqlalchemy as sa
from alembic import op

revision, down_revision = "2", "1"


def upgrade():
    op.create_table("pages", sa.Column("path", sa.Text, primary_key=True, nullable=False))


def downgrade():
    op.drop_table("pages")
