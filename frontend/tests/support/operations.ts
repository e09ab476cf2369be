/** What the operations of the API answer; a test server needs no others. */
import type {
  AlgorithmList,
  BandAnswer,
  CalibrationList,
  CalibrationView,
  ClusterList,
  ClusterTokenList,
  ClusterTokenView,
  ClusterView,
  ComparedRows,
  Comparison,
  DryRun,
  ExperimentPage,
  ExperimentView,
  Leaderboard,
  LogPage,
  NewClusterToken,
  QueuePolicy,
  QueueView,
  RunPage,
  RunView,
  SeriesAnswer,
  TuningView,
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
  "GET /compare": ComparedRows;
  "GET /runs": RunPage;
  "GET /runs/*": RunView;
  "GET /runs/*/logs": LogPage;
  "POST /runs/*/cancel": RunView;
  "POST /runs/*/checkpoint": RunView;
  "POST /runs/*/retry": RunView;
  "POST /runs/*/abandon": RunView;
  "POST /series": SeriesAnswer;
}
export type Operation = keyof Operations;
