import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouterHistory,
} from "@tanstack/react-router";
import { algorithmSearch, algorithmsSearch } from "@/features/algorithms/search";
import { clustersSearch } from "@/features/clusters/search";
import { compareSearch } from "@/features/compare/search";
import { experimentSearch } from "@/features/experiment/search";
import { experimentsSearch } from "@/features/experiments/search";
import { foundRunsSearch } from "@/features/found-runs/search";
import { leaderboardSearch } from "@/features/leaderboard/search";
import { newExperimentSearch } from "@/features/new-experiment/search";
import { accountSearch, administrationSearch, signInSearch } from "@/features/people/search";
import { runSearch } from "@/features/run/search";
import { patiently } from "@/lib/api/patiently";
import { NotFound } from "./not-found";
import { Pending } from "./pending";
import { RouteError } from "./route-error";
import { Shell } from "./shell";

/** A page whose code is fetched when it is opened, also while the server is away. */
const page: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(() => patiently(load), name);

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: RouteError });

const experiments = createRoute({
  getParentRoute: () => root,
  path: "/",
  validateSearch: experimentsSearch,
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
  validateSearch: leaderboardSearch,
  component: page(() => import("@/features/leaderboard/leaderboard-screen"), "LeaderboardScreen"),
});

const algorithms = createRoute({
  getParentRoute: () => root,
  path: "/algorithms",
  validateSearch: algorithmsSearch,
  component: page(() => import("@/features/algorithms/algorithms-screen"), "AlgorithmsScreen"),
});

const algorithm = createRoute({
  getParentRoute: () => root,
  path: "/algorithms/$algorithm",
  validateSearch: algorithmSearch,
  component: page(() => import("@/features/algorithms/algorithm-screen"), "AlgorithmScreen"),
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
  validateSearch: clustersSearch,
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

const foundRuns = createRoute({
  getParentRoute: () => root,
  path: "/runs",
  validateSearch: foundRunsSearch,
  component: page(() => import("@/features/found-runs/found-runs-screen"), "FoundRunsScreen"),
});

const run = createRoute({
  getParentRoute: () => root,
  path: "/runs/$runId",
  validateSearch: runSearch,
  component: page(() => import("@/features/run/run-screen"), "RunScreen"),
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: signInSearch,
  component: page(() => import("@/features/people/sign-in-screen"), "SignInScreen"),
});

const invite = createRoute({
  getParentRoute: () => root,
  path: "/invite",
  component: page(() => import("@/features/people/invite-screen"), "InviteScreen"),
});

const account = createRoute({
  getParentRoute: () => root,
  path: "/account",
  validateSearch: accountSearch,
  component: page(() => import("@/features/people/account-screen"), "AccountScreen"),
});

const administration = createRoute({
  getParentRoute: () => root,
  path: "/administration",
  validateSearch: administrationSearch,
  component: page(() => import("@/features/people/administration-screen"), "AdministrationScreen"),
});

const routeTree = root.addChildren([
  experiments,
  newExperiment,
  experiment,
  leaderboard,
  algorithms,
  algorithm,
  compare,
  clusters,
  queue,
  calibration,
  foundRuns,
  run,
  signIn,
  invite,
  account,
  administration,
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
