"""pages gets a column, by a copy of the table."""
import sqlalchemy as sa
from alembic import op

revision, down_revision = "3", "2"


def upgrade():
    with op.batch_alter_table("pages", recreate="always") as pages:
        pages.add_column(sa.Column("title", sa.Text, nullable=False, server_default="none"))


def downgrade():
    with op.batch_alter_table("pages") as pages:
        pages.drop_column("title")
