"""Starting, watching and ending runs on a cluster, and delivering their journals to the API.

    API ──Redis──▶ agent ──▶ supervisor ──▶ mpirun ──▶ guard ──▶ rank ──▶ journal
     ▲               (broker, orders)  │ (ranks, processes, verdict)         │
     └──────────────── HTTP ───────────┴──(attempt, witness, tail, shipper, delivery)

All state that must survive a kill is in files (`places`): markers hold requests, a lock shows which supervisor is
alive (`lock`), journals and reports record events. Any process here may die at any moment; its successor continues
from the files.
"""
