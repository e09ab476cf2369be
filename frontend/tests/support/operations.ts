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
  DeletedExperiment,
  DeletedPage,
  DryRun,
  ExperimentPage,
  ExperimentView,
  FilterLanguage,
  Leaderboard,
  LogPage,
  NewClusterToken,
  QueuePolicy,
  QueueView,
  Ready,
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
  "GET /readyz": Ready;
  "GET /filter-fields": FilterLanguage;
  "GET /deleted-experiments": DeletedPage;
  "PATCH /experiments/*": ExperimentView;
  "DELETE /experiments/*": DeletedExperiment;
  "POST /experiments/*/restore": ExperimentView;
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
}
export type Operation = keyof Operations;

/** What pages ask for by the way: a test need not say it. */
export const USUAL = new Map<string, unknown>([
  ["GET /readyz", { ready: true, reasons: [], warnings: [] } satisfies Ready],
  ["GET /filter-fields", { fields: [] } satisfies FilterLanguage],
]);
