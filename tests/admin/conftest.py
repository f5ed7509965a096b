"""A steward who may do everything, and one who may only look."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

MakeClient = Callable[..., Client]


@pytest.fixture
def steward(db: None) -> Client:
    from django.contrib.auth import get_user_model

    user = get_user_model().objects.create_superuser("管理员", "", "correct horse")
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def staff_with(db: None) -> MakeClient:
    """``staff_with("sources.view_crawltarget")``: a logged-in member of staff with these permissions only."""
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Permission

    def make(*permissions: str) -> Client:
        user = get_user_model().objects.create_user("职员", "", "correct horse", is_staff=True)
        for permission in permissions:
            app, _, codename = permission.partition(".")
            user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
        client = Client()
        client.force_login(user)
        return client

    return make
