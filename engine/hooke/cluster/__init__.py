"""Starting, watching and ending runs on a cluster, and carrying their journals home.

    API ──Redis──▶ agent ──▶ supervisor ──▶ mpirun ──▶ guard ──▶ rank ──▶ journal
     ▲               (broker, orders)  │ (ranks, processes, verdict)         │
     └──────────────── HTTP ───────────┴──(attempt, witness, tail, shipper, delivery)

What must survive a kill is a file (`places`): markers say what is wanted, a lock says who lives (`lock`), journals
and reports say what happened. Any process here may die at any moment; the next one reads the files and goes on.
"""
