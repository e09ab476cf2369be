import { useMutation, useQueryClient } from "@tanstack/react-query";
import { changeExperimentMutation, readExperimentQueryKey } from "@/lib/client/@tanstack/react-query.gen";

/** Changes marks, tags or note of an experiment; lists and pages follow. */
export function useChange() {
  const client = useQueryClient();
  return useMutation({
    ...changeExperimentMutation(),
    onSuccess: (view) => {
      client.setQueryData(readExperimentQueryKey({ path: { experiment_id: view.id } }), view);
      void client.invalidateQueries({ queryKey: ["experiments"] });
      void client.invalidateQueries({ queryKey: ["filter-fields"] });
    },
  });
}
