from django.urls import path

from articles.api import export_views, file_views, views

urlpatterns = [
    path("articles/", views.ArticlesView.as_view(), name="articles"),
    path("articles/ready/", views.ReadyArticlesView.as_view(), name="articles-ready"),
    path("articles/<int:article_id>/", views.ArticleView.as_view(), name="article"),
    path("articles/<int:article_id>/revisions/", views.RevisionsView.as_view(), name="article-revisions"),
    path("articles/<int:article_id>/raw/", file_views.ArticleRawView.as_view(), name="article-raw"),
    path("attachments/<int:attachment_id>/content/", file_views.AttachmentContentView.as_view(), name="attachment-content"),
    path("changes/", views.ChangesView.as_view(), name="changes"),
    path("exports/claim/", export_views.ClaimView.as_view(), name="exports-claim"),
    path("exports/ack/", export_views.AckView.as_view(), name="exports-ack"),
]
