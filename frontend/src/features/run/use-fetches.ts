import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import {
  deleteFetchMutation,
  fetchCheckpointMutation,
  listFetchesOptions,
  listFetchesQueryKey,
} from "@/lib/client/@tanstack/react-query.gen";
import type { CheckpointView, FetchView } from "@/lib/client/types.gen";

/** While one is on its way; the stream has no events of fetches. */
const MS = 1000;

/** What the server has of the checkpoints of a run, or gets. */
export function useFetches(id: string) {
  const client = useQueryClient();
  const path = { run_id: id };
  const onSettled = () => client.invalidateQueries({ queryKey: listFetchesQueryKey({ path }) });
  const list = useQuery({
    ...listFetchesOptions({ path }),
    refetchInterval: (query) => (query.state.data?.items.some(isOpen) ? MS : false),
  });
  const ask = useMutation({ ...fetchCheckpointMutation(), onSettled });
  const remove = useMutation({ ...deleteFetchMutation(), onSettled });
  return {
    known: list.isSuccess,
    list,
    of: (one: CheckpointView): FetchView | undefined =>
      list.data?.items.find((each) => each.attempt === one.attempt && each.samples === folderOf(one)),
    ask: (one: CheckpointView) =>
      ask.mutate({ path, body: { attempt: one.attempt, samples: folderOf(one) } }),
    asking: (one: CheckpointView) =>
      ask.isPending && ask.variables.body.samples === folderOf(one) && isOf(ask.variables.body, one),
    /** Why the server did not accept it. */
    refused: (one: CheckpointView) =>
      ask.isError && isOf(ask.variables.body, one) && ask.variables.body.samples === folderOf(one)
        ? ask.error
        : undefined,
    remove: (fetch: FetchView) => remove.mutate({ path: { ...path, fetch_id: fetch.id } }),
    removing: remove.isPending,
    notRemoved: remove.error,
  };
}

export type Fetches = ReturnType<typeof useFetches>;

export const isOpen = ({ state }: FetchView) => state === "waiting" || state === "sending";

const isOf = (asked: { attempt?: number | null }, one: CheckpointView) => asked.attempt === one.attempt;

/** The server knows a checkpoint by the name of its folder. */
function folderOf({ path, samples }: CheckpointView): number {
  const name = path.split("/").at(-1) ?? "";
  return /^[0-9]+$/.test(name) ? Number(name) : samples;
}
