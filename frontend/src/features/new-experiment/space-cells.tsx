import { TextInput } from "@mantine/core";
import { useState } from "react";
import type { Space } from "@/lib/client/types.gen";
import type { Path } from "@/lib/json/document";
import { SCALES } from "@/lib/spaces/words";
import ui from "@/lib/ui/ui.module.css";
import { ChoiceField, NumberField } from "./fields";
import { useField } from "./form-context";
import styles from "./search-spaces.module.css";
import { choicesFrom, choicesText } from "./searched";

interface CellsProps {
  path: Path;
  title: string;
  /** What holds now: the variant's own, or the one that the algorithm declares. */
  space: Space;
  write: (changes: Partial<Space>) => void;
}

/** The ends and the scale of an interval. */
export function IntervalCells({ path, title, space, write }: CellsProps) {
  const end = (name: "low" | "high") => (
    <td className={styles.end}>
      <NumberField
        path={[...path, name]}
        label={`${title}, ${name}`}
        labelUnseen
        size="xs"
        fallback={space[name]}
        onNumber={(value) => write({ [name]: value })}
      />
    </td>
  );
  return (
    <>
      {end("low")}
      {end("high")}
      <td className={styles.scale}>
        <ChoiceField
          path={[...path, "scale"]}
          label={`${title}, scale`}
          labelUnseen
          size="xs"
          fallback={space.scale ?? "linear"}
          choices={SCALES}
          onChoice={(text) => write({ scale: SCALES.find(({ value }) => value === text)?.value })}
        />
      </td>
    </>
  );
}

/** The values of a space that is no interval. */
export function ChoiceCells({ path, title, space, write }: CellsProps) {
  const { error, control } = useField([...path, "choices"]);
  const [typed, setTyped] = useState<string>();
  const current = choicesText(space.choices);
  const agrees = typed !== undefined && choicesText(choicesFrom(typed)) === current;
  return (
    <td colSpan={3}>
      <TextInput
        {...control}
        size="xs"
        label={`${title}, choices`}
        labelProps={{ className: ui.unseen }}
        error={error}
        autoComplete="off"
        value={agrees ? typed : current}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          write({ choices: choicesFrom(event.currentTarget.value) });
        }}
      />
    </td>
  );
}
