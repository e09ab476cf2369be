import { Button, Radio } from "@mantine/core";
import type { AlgorithmList, AlgorithmView } from "@/lib/client/types.gen";
import { NONE } from "@/lib/format/numbers";
import { pointerOf, textAt, valueAt } from "@/lib/json/document";
import { VariantLine } from "@/lib/ui/variant-chip";
import { TextField } from "./fields";
import { useField, useForm } from "./form-context";
import { type Column, cellText, differs, fieldIn, givenTo, wordsOf } from "./grid";
import { free, tunes } from "./searched";
import { positionOf } from "./sweeps";
import { VariantCell } from "./variant-cell";
import own from "./variants.module.css";

interface RowProps {
  index: number;
  columns: readonly Column[];
  algorithms: readonly AlgorithmView[];
  communication: AlgorithmList["communication"];
  held: (name: string | undefined) => void;
}

/** A variant in one row of the grid; what is edited below it in full is only text here. */
export function VariantRow({ index, columns, algorithms, communication, held }: RowProps) {
  const { draft, opened, present } = useForm();
  const variant = valueAt(draft, ["variants", index]);
  const known = algorithms.find(({ name }) => name === textAt(variant, ["algorithm"]));
  const method = known?.title ?? textAt(variant, ["algorithm"]);
  const isOpen = opened === index;
  const told = (shown: readonly Column[]) =>
    [method, ...wordsOf(draft, index, known, shown, communication)].join(" · ");
  return (
    <tr className={own.row}>
      <th scope="row" className={own.name}>
        <div className={own.named}>
          <VariantLine index={(present?.length ?? 0) + positionOf(draft, index)} width={28} />
          {isOpen ? (
            <span className={own.text}>{textAt(variant, ["name"])}</span>
          ) : (
            <TextField path={["variants", index, "name"]} label="Name" labelUnseen size="xs" />
          )}
        </div>
        <div className={`${own.about} ${own.wide}`} title={told(columns)}>
          {told(columns)}
        </div>
        <div className={`${own.about} ${own.narrow}`}>{told([])}</div>
      </th>
      {columns.map(({ name }) => (
        <td key={name} className={own.value}>
          <Value index={index} name={name} algorithms={algorithms} held={held} />
        </td>
      ))}
      {!present && <BaselineCell index={index} />}
      <td className={own.edit}>
        <EditButton index={index} />
      </td>
    </tr>
  );
}

function BaselineCell({ index }: { index: number }) {
  const { draft, change } = useForm();
  return (
    <td className={own.base}>
      <Radio
        size="xs"
        aria-label="Baseline"
        label={<span className={own.word}>Baseline</span>}
        name="baseline"
        data-testid="baseline"
        classNames={{ root: own.radio, label: own.baseline }}
        checked={draft.baseline === index}
        onChange={() => change((old) => ({ ...old, baseline: index }))}
      />
    </td>
  );
}

/** A parameter in its column: to be typed, or while the whole variant is edited, only shown. */
function Value({
  index,
  name,
  algorithms,
  held,
}: Omit<RowProps, "columns" | "communication"> & { name: string }) {
  const { draft, opened } = useForm();
  const variant = valueAt(draft, ["variants", index]);
  const known = algorithms.find((one) => one.name === textAt(variant, ["algorithm"]));
  const field = fieldIn(variant, name, algorithms);
  if (!known || !field) return <span className={own.plain}>{NONE}</span>;
  const searched = tunes(draft) && free(variant, known).has(name);
  const otherwise = searched ? "searched" : cellText(field.default ?? null);
  if (opened !== index) return <VariantCell index={index} field={field} otherwise={otherwise} held={held} />;
  const given = cellText(givenTo(variant, name));
  return (
    <span className={`${own.text} ${differs(variant, field) ? "" : own.plain}`}>{given || otherwise}</span>
  );
}

/** Opens the variant, or closes it; while it has problems it says how many. */
function EditButton({ index }: { index: number }) {
  const { draft, problems, opened, open } = useForm();
  const { control } = useField(["variants", index]);
  const at = pointerOf(["variants", index]);
  const count = problems.filter(({ pointer }) => pointer === at || pointer.startsWith(`${at}/`)).length;
  const isOpen = opened === index;
  const word = isOpen ? "Close" : count > 0 ? `${count} ${count === 1 ? "problem" : "problems"}` : "Edit";
  return (
    <Button
      {...control}
      size="compact-xs"
      variant={count > 0 && !isOpen ? "light" : "subtle"}
      color={count > 0 && !isOpen ? "red" : "gray"}
      aria-expanded={isOpen}
      aria-label={`${word}: ${textAt(draft, ["variants", index, "name"])}`}
      data-testid="edit-variant"
      onClick={() => open(isOpen ? undefined : index)}
    >
      {word}
    </Button>
  );
}
