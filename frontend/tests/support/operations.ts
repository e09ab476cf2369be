/** The operations of the API that tests answer: their types, and what is answered unasked. */
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
  CreatedWebhook,
  DeletedExperiment,
  DeletedPage,
  DeliveryPage,
  DeliveryView,
  DryRun,
  ExperimentPage,
  ExperimentView,
  FetchList,
  FetchView,
  FilterLanguage,
  FurtherMetricList,
  IdentityList,
  Leaderboard,
  LogPage,
  Me,
  MemberList,
  MemberView,
  NewClusterToken,
  NewInvite,
  NewToken,
  OccupancyView,
  Onward,
  PhasesAnswer,
  ProjectList,
  ProjectView,
  ProviderView,
  QueuePolicy,
  QueueView,
  Ready,
  RunPage,
  RunView,
  SavedView,
  SeriesAnswer,
  SystemView,
  TimelineView,
  TokenList,
  TokenView,
  TrailPage,
  TuningView,
  UserList,
  UserView,
  VersionList,
  ViewList,
  WebhookList,
  WebhookView,
  WorkersAnswer,
  WorkloadList,
} from "@/lib/client/types.gen";
import { OCCUPANCY } from "./fixtures/occupancy";

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
  "POST /experiments/import": ExperimentView;
  "GET /experiments/*": ExperimentView;
  "GET /experiments/*/bands": BandAnswer;
  "GET /experiments/*/phases": PhasesAnswer;
  "GET /experiments/*/comparison": Comparison;
  "GET /experiments/*/metrics": FurtherMetricList;
  "GET /experiments/*/tuning": TuningView;
  "POST /experiments/*/cancel": ExperimentView;
  "POST /experiments/*/extension": ExperimentView;
  "POST /experiments/*/extension/dry-run": DryRun;
  "GET /experiments/*/versions": VersionList;
  "PUT /experiments/*/priority": ExperimentView;
  "PUT /experiments/*/project": ExperimentView;
  "GET /clusters/*/occupancy": OccupancyView;
  "GET /clusters/*/queue": QueueView;
  "PUT /clusters/*/policy": QueuePolicy;
  "GET /leaderboard": Leaderboard;
  "GET /compare": ComparedRows;
  "GET /runs": RunPage;
  "GET /runs.parquet": string;
  "GET /experiments/*/points.parquet": string;
  "GET /runs/*": RunView;
  "GET /runs/*/fetches": FetchList;
  "POST /runs/*/fetches": FetchView;
  "DELETE /runs/*/fetches/*": Record<string, never>;
  "GET /runs/*/logs": LogPage;
  "GET /runs/*/workers": WorkersAnswer;
  "GET /runs/*/timeline": TimelineView;
  "GET /runs/*/system": SystemView;
  "POST /runs/*/cancel": RunView;
  "POST /runs/*/checkpoint": RunView;
  "POST /runs/*/retry": RunView;
  "POST /runs/*/abandon": RunView;
  "POST /series": SeriesAnswer;
  "GET /me": Me;
  "PUT /me/password": Record<string, never>;
  "GET /oidc": ProviderView;
  "POST /oidc/start": Onward;
  "GET /me/identities": IdentityList;
  "POST /me/identities/link": Onward;
  "DELETE /me/identities/*": Record<string, never>;
  "POST /sign-in": Me;
  "POST /sign-out": Record<string, never>;
  "POST /invites/accept": Me;
  "GET /users": UserList;
  "POST /users": NewInvite;
  "PATCH /users/*": UserView;
  "POST /users/*/invite": NewInvite;
  "POST /users/*/sign-out": Record<string, never>;
  "GET /projects": ProjectList;
  "POST /projects": ProjectView;
  "PATCH /projects/*": ProjectView;
  "GET /projects/*/members": MemberList;
  "PUT /projects/*/members/*": MemberView;
  "DELETE /projects/*/members/*": Record<string, never>;
  "GET /tokens": TokenList;
  "POST /tokens": NewToken;
  "POST /tokens/*/revoke": TokenView;
  "GET /audit": TrailPage;
  "GET /webhooks": WebhookList;
  "POST /webhooks": CreatedWebhook;
  "PATCH /webhooks/*": WebhookView;
  "DELETE /webhooks/*": Record<string, never>;
  "POST /webhooks/*/test": DeliveryView;
  "GET /webhooks/*/deliveries": DeliveryPage;
  "POST /webhook-deliveries/*/redeliver": DeliveryView;
  "GET /views": ViewList;
  "GET /api/openapi.json": { components: { schemas: Record<string, unknown> } };
  "POST /views": SavedView;
  "PATCH /views/*": SavedView;
  "DELETE /views/*": Record<string, never>;
}
/** What pages ask for by the way: a test need not say it. */
export const USUAL = new Map<string, unknown>([
  ["GET /api/openapi.json", {}], // without a schema: what a clone lacks is not known to be a default
  ["GET /readyz", { ready: true, reasons: [], warnings: [] } satisfies Ready],
  ["GET /filter-fields", { fields: [] } satisfies FilterLanguage],
  ["GET /webhooks", { items: [] } satisfies WebhookList],
  ["GET /projects", { items: [] } satisfies ProjectList],
  ["GET /views", { items: [] } satisfies ViewList],
  ["GET /oidc", { name: null, problem: null } satisfies ProviderView],
  ["GET /me/identities", { items: [], has_password: true } satisfies IdentityList],
  [
    "GET /clusters/*/queue",
    {
      ...{ cluster: "local", online: true, drained: false, slots: 8, free: 8 },
      ...{ active: [], entries: [], policy: {} },
    } satisfies QueueView,
  ],
  ["GET /clusters/*/occupancy", OCCUPANCY],
  ["GET /leaderboard", { choices: [], boards: [], tau_max: 4, left_out: [] } satisfies Leaderboard],
  ["GET /runs/*/fetches", { items: [] } satisfies FetchList],
  ["GET /experiments/*/metrics", { items: [] } satisfies FurtherMetricList],
  [
    "GET /runs/*/system",
    {
      ...{ attempt: 1, simulated: false, at: [], began: null },
      ...{ processes: [], host: null, elsewhere: [], energy: null },
    } satisfies SystemView,
  ],
]);
