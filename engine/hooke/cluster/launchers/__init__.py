"""How the ranks of an attempt are started on a kind of cluster. Nothing here imports Celery, httpx or torch."""
