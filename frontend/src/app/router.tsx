import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouterHistory,
} from "@tanstack/react-router";
import { compareSearch } from "@/features/compare/search";
import { experimentSearch } from "@/features/experiment/search";
import { newExperimentSearch } from "@/features/new-experiment/search";
import { runSearch } from "@/features/run/search";
import { NotFound } from "./not-found";
import { patiently } from "./patiently";
import { Pending } from "./pending";
import { RouteError } from "./route-error";
import { Shell } from "./shell";

/** A page whose code is fetched when it is opened, also while the server is away. */
const page: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(() => patiently(load), name);

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: RouteError });

const experiments = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: page(() => import("@/features/experiments/experiments-screen"), "ExperimentsScreen"),
});

const newExperiment = createRoute({
  getParentRoute: () => root,
  path: "/new",
  validateSearch: newExperimentSearch,
  component: page(() => import("@/features/new-experiment/new-experiment-screen"), "NewExperimentScreen"),
});

const experiment = createRoute({
  getParentRoute: () => root,
  path: "/experiments/$experimentId",
  validateSearch: experimentSearch,
  component: page(() => import("@/features/experiment/experiment-screen"), "ExperimentScreen"),
});

const leaderboard = createRoute({
  getParentRoute: () => root,
  path: "/leaderboard",
  component: page(() => import("@/features/leaderboard/leaderboard-screen"), "LeaderboardScreen"),
});

const compare = createRoute({
  getParentRoute: () => root,
  path: "/compare",
  validateSearch: compareSearch,
  component: page(() => import("@/features/compare/compare-screen"), "CompareScreen"),
});

const clusters = createRoute({
  getParentRoute: () => root,
  path: "/clusters",
  component: page(() => import("@/features/clusters/clusters-screen"), "ClustersScreen"),
});

const queue = createRoute({
  getParentRoute: () => root,
  path: "/clusters/$clusterName/queue",
  component: page(() => import("@/features/clusters-queue/queue-screen"), "QueueScreen"),
});

const calibration = createRoute({
  getParentRoute: () => root,
  path: "/clusters/$name/calibration",
  component: page(() => import("@/features/calibration/calibration-screen"), "CalibrationScreen"),
});

const run = createRoute({
  getParentRoute: () => root,
  path: "/runs/$runId",
  validateSearch: runSearch,
  component: page(() => import("@/features/run/run-screen"), "RunScreen"),
});

const routeTree = root.addChildren([
  experiments,
  newExperiment,
  experiment,
  leaderboard,
  compare,
  clusters,
  queue,
  calibration,
  run,
]);

/** The routes over the browser's address, or over another history. */
export function makeRouter(history?: RouterHistory) {
  return createRouter({
    routeTree,
    history,
    defaultPreload: "intent",
    scrollRestoration: true,
    defaultPendingComponent: Pending,
  });
}

export type AppRouter = ReturnType<typeof makeRouter>;

declare module "@tanstack/react-router" {
  interface Register {
    router: AppRouter;
  }
}
