import { ActionIcon } from "@mantine/core";
import { useMe } from "@/lib/people/use-me";
import { lazily } from "@/lib/ui/lazily";
import { WhenPressed } from "@/lib/ui/when-pressed";

const PersonItems = lazily(() => import("./person-items").then((part) => part.PersonItems));
const PERSON = "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4.5 20.5a7.5 7.5 0 0 1 15 0";

/** Who uses this browser, and what concerns only them. */
export function PersonMenu() {
  const me = useMe();
  if (!me) return null;
  return (
    <WhenPressed
      button={
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={`Account of ${me.name}`}
          data-testid="person"
        >
          <svg
            width="18"
            height="18"
            viewBox="0 0 24 24"
            fill="none"
            stroke="currentColor"
            strokeWidth="1.8"
            strokeLinecap="round"
            aria-hidden="true"
          >
            <path d={PERSON} />
          </svg>
        </ActionIcon>
      }
      opens={(button) => <PersonItems button={button} me={me} />}
    />
  );
}
