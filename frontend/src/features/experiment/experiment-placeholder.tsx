import { Skeleton } from "@mantine/core";

/** The page's outline, so that nothing jumps when it arrives. */
export function ExperimentPlaceholder() {
  return (
    <div aria-busy="true">
      <Skeleton height={28} width="42%" />
      <Skeleton height={16} width="60%" mt={14} />
      <Skeleton height={96} mt={44} />
      <Skeleton height={260} mt={28} />
      <Skeleton height={320} mt={44} />
    </div>
  );
}
