"""stub"""


def resume(workspace_id: str, seconds: float) -> None:
    """stub"""
