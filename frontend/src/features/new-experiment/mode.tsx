import { SegmentedControl } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import type { Ref } from "react";

const route = getRouteApi("/new");

/** Fields, or the whole as text; both are of one draft. */
export function Mode({ ref }: { ref: Ref<HTMLDivElement> }) {
  const { as } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <SegmentedControl
      ref={ref}
      size="xs"
      aria-label="How the experiment is written"
      data-testid="mode"
      value={as ?? "form"}
      data={[
        { value: "form", label: "Form" },
        { value: "yaml", label: "YAML" },
      ]}
      onChange={(value) =>
        navigate({
          search: (old) => ({ ...old, as: value === "yaml" ? value : undefined }),
          replace: true,
          resetScroll: false,
        })
      }
    />
  );
}
