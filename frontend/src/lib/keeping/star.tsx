import { ActionIcon } from "@mantine/core";

/** Stars an experiment, or takes the star away. */
export function Star(props: { name: string; starred: boolean; busy?: boolean; act: () => void }) {
  const label = `${props.starred ? "Remove the star of" : "Star"} ${props.name}`;
  return (
    <ActionIcon
      variant="subtle"
      color={props.starred ? "yellow.8" : "gray"}
      aria-label={label}
      aria-pressed={props.starred}
      title={props.starred ? "Starred: retention keeps it" : "Star it"}
      disabled={props.busy}
      onClick={props.act}
      data-testid="star"
    >
      <svg width={17} height={17} viewBox="0 0 20 20" aria-hidden="true">
        <path
          d="M10 1.8l2.5 5.2 5.7.8-4.1 4 1 5.7L10 14.8l-5.1 2.7 1-5.7-4.1-4 5.7-.8z"
          fill={props.starred ? "currentColor" : "none"}
          stroke="currentColor"
          strokeWidth={1.5}
          strokeLinejoin="round"
        />
      </svg>
    </ActionIcon>
  );
}
