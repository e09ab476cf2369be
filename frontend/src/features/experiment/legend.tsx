import { getRouteApi } from "@tanstack/react-router";
import type { ExperimentView } from "@/lib/client/types.gen";
import { Toolbar } from "@/lib/ui/toolbar";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import styles from "./experiment.module.css";
import { toggled } from "./search";

const route = getRouteApi("/experiments/$experimentId");

/** The variants, in the order of the specification; a click shows or hides one in every chart. */
export function Legend({ experiment, hidden }: { experiment: ExperimentView; hidden: ReadonlySet<number> }) {
  const navigate = route.useNavigate();
  return (
    <fieldset className={styles.legendBox}>
      <legend className={ui.unseen}>Variants shown</legend>
      <Toolbar label="Variants" className={styles.legend}>
        {experiment.variants.map((name, index) => (
          <button
            key={name}
            type="button"
            className={styles.legendItem}
            aria-pressed={!hidden.has(index)}
            data-testid="legend-item"
            onClick={() =>
              navigate({
                search: (old) => ({ ...old, hide: toggled(hidden, index) }),
                replace: true,
                resetScroll: false,
              })
            }
          >
            <VariantChip name={name} index={index} />
          </button>
        ))}
      </Toolbar>
    </fieldset>
  );
}
