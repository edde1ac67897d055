"""page_views: an ordinary table, a counter table, or an ordinary one that is tracked or replicated."""
import os

import sqlalchemy as sa
from alembic import context, op

import steps

revision, down_revision = "1", None


def upgrade():
    mode = context.config.attributes["mode"]
    if mode == "counter":
        op.execute(steps.COUNTER_TABLE)
    else:
        op.create_table(
            "page_views", sa.Column("path", sa.Text, primary_key=True, nullable=False),
            sa.Column("hits", sa.Integer, nullable=False, server_default="0"),
            sa.Column("bytes", sa.Integer, nullable=False, server_default="0"))
    if "CLIENT_TRACK" in os.environ:
        op.execute(os.environ["CLIENT_TRACK"])


def downgrade():
    op.drop_table("page_views")
