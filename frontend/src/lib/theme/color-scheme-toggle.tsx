import { ActionIcon, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { useHint } from "@/lib/ui/use-hint";

const SUN =
  "M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10M12 2v2M12 20v2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M2 12h2M20 12h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4";
const MOON = "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5Z";

/** Switches between light and dark; until it is used, the system's preference decides. */
export function ColorSchemeToggle() {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme("light");
  const next = scheme === "dark" ? "light" : "dark";
  const [about, note] = useHint<HTMLButtonElement>(`Switch to ${next}`);
  return (
    <>
      <ActionIcon
        {...about}
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={`Switch to ${next} colors`}
        data-testid="color-scheme"
        onClick={() => setColorScheme(next)}
      >
        <svg
          width="17"
          height="17"
          viewBox="0 0 24 24"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.8"
          strokeLinecap="round"
          strokeLinejoin="round"
          aria-hidden="true"
        >
          <path d={scheme === "dark" ? SUN : MOON} />
        </svg>
      </ActionIcon>
      {note}
    </>
  );
}
