import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation, useRouter } from "@tanstack/react-router";
import {
  changeViewMutation,
  createViewMutation,
  deleteViewMutation,
  listViewsOptions,
  listViewsQueryKey,
} from "@/lib/client/@tanstack/react-query.gen";

/** The saved views of the user. */
export function useViews() {
  return useQuery(listViewsOptions());
}

/** The address of what is shown, as it is saved. */
export function useHere(): string {
  const { pathname, searchStr } = useLocation();
  return `${pathname}${searchStr}`;
}

/** Show a view without loading the dashboard anew. */
export function useShow(): (path: string) => void {
  const router = useRouter();
  return (path) => router.history.push(path);
}

/** What can be done to saved views; the list is read again after each. */
export function useViewChanges() {
  const client = useQueryClient();
  const again = { onSuccess: () => client.invalidateQueries({ queryKey: listViewsQueryKey() }) };
  return {
    create: useMutation({ ...createViewMutation(), ...again }),
    change: useMutation({ ...changeViewMutation(), ...again }),
    remove: useMutation({ ...deleteViewMutation(), ...again }),
  };
}
