/** The operations of the API that tests answer. */
import type {
  AlgorithmList,
  BandAnswer,
  CalibrationList,
  CalibrationView,
  ClusterList,
  ClusterTokenList,
  ClusterTokenView,
  ClusterView,
  Comparison,
  DryRun,
  ExperimentPage,
  ExperimentView,
  Leaderboard,
  LogPage,
  Me,
  NewClusterToken,
  NewInvite,
  NewToken,
  QueuePolicy,
  QueueView,
  RunPage,
  RunView,
  SeriesAnswer,
  TokenList,
  TokenView,
  TrailPage,
  TuningView,
  UserList,
  UserView,
  WorkloadList,
} from "@/lib/client/types.gen";

/** What each operation answers; `*` stands for an id. */
export interface Operations {
  "GET /algorithms": AlgorithmList;
  "GET /workloads": WorkloadList;
  "GET /clusters": ClusterList;
  "DELETE /clusters/*": Record<string, never>;
  "POST /clusters/*/drain": ClusterView;
  "POST /clusters/*/resume": ClusterView;
  "GET /clusters/*/tokens": ClusterTokenList;
  "POST /clusters/*/tokens": NewClusterToken;
  "POST /cluster-tokens/*/revoke": ClusterTokenView;
  "GET /clusters/*/calibrations": CalibrationList;
  "POST /clusters/*/calibrations": CalibrationView;
  "POST /clusters/*/calibrations/*/cancel": CalibrationView;
  "GET /experiments": ExperimentPage;
  "POST /experiments": ExperimentView;
  "POST /experiments/dry-run": DryRun;
  "GET /experiments/*": ExperimentView;
  "GET /experiments/*/bands": BandAnswer;
  "GET /experiments/*/comparison": Comparison;
  "GET /experiments/*/tuning": TuningView;
  "POST /experiments/*/cancel": ExperimentView;
  "PUT /experiments/*/priority": ExperimentView;
  "GET /clusters/*/queue": QueueView;
  "PUT /clusters/*/policy": QueuePolicy;
  "GET /leaderboard": Leaderboard;
  "GET /runs": RunPage;
  "GET /runs/*": RunView;
  "GET /runs/*/logs": LogPage;
  "POST /runs/*/cancel": RunView;
  "POST /runs/*/checkpoint": RunView;
  "POST /runs/*/retry": RunView;
  "POST /runs/*/abandon": RunView;
  "POST /series": SeriesAnswer;
  "GET /me": Me;
  "PUT /me/password": Record<string, never>;
  "POST /sign-in": Me;
  "POST /sign-out": Record<string, never>;
  "POST /invites/accept": Me;
  "GET /users": UserList;
  "POST /users": NewInvite;
  "PATCH /users/*": UserView;
  "POST /users/*/invite": NewInvite;
  "GET /tokens": TokenList;
  "POST /tokens": NewToken;
  "POST /tokens/*/revoke": TokenView;
  "GET /audit": TrailPage;
}
export type Operation = keyof Operations;

/** Who looks, unless a test says otherwise: the owner of a server without users. */
export const OWNER: Me = {
  name: "owner",
  role: "admin",
  credential: "start-up token",
  is_user: false,
  users: false,
};

/** What pages ask for by the way: a test need not say it. */
export const USUAL = new Map<string, unknown>([["GET /me", OWNER]]);
