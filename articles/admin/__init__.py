"""The screens of articles, their history and the feed."""

from articles.admin import article, feed, history

__all__ = ["article", "feed", "history"]
