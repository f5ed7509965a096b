"""Department and binding state of a site path change together, in one UPDATE: the CHECK allows no moment between."""

from __future__ import annotations

from typing import Any

from departments.models import LocalDepartment
from sources.models import SiteDepartment


def release_department(sender: Any, instance: LocalDepartment, **kwargs: Any) -> None:
    """Before a department goes: empty its bindings and return them to ``pending``.

    The seed's SET NULL alone would break ``ck_site_department_binding_local_dept``. A ``pre_delete`` receiver, because work
    inside ``on_delete`` would also run in the admin's delete preview.
    """
    SiteDepartment.objects.filter(local_dept=instance).update(local_dept=None, dept_binding=SiteDepartment.Binding.PENDING)
