from django.urls import path, re_path

from crawl.api import views

urlpatterns = [
    path("jobs/", views.JobsView.as_view(), name="jobs"),
    path("jobs/<str:job_id>/", views.JobView.as_view(), name="job"),
    path("jobs/<str:job_id>/cancel/", views.CancelJobView.as_view(), name="job-cancel"),
    path("sources/health/", views.HealthView.as_view(), name="sources-health"),
    path("runs/", views.RunsView.as_view(), name="runs"),
    # The last pattern of the API: an unknown address, or one without its slash, is a problem and not a redirect.
    re_path(r"", views.no_such_call, name="no-such-call"),
]
