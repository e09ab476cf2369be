import { type Ref, useImperativeHandle, useMemo, useRef } from "react";
import type { AlgorithmList, ClusterView, Fault, WorkloadView } from "@/lib/client/types.gen";
import { withoutDefaults } from "@/lib/yaml/defaults";
import { propose } from "@/lib/yaml/propose";
import { type ReadYaml, readYaml } from "@/lib/yaml/read";
import type { Shape } from "@/lib/yaml/shapes";
import { yamlOf } from "@/lib/yaml/write";
import { type EditorHandle, type Mark, YamlEditor } from "@/lib/yaml/yaml-editor";
import { withNamedBaseline, withPlacedBaseline } from "./baseline";
import { draftOf } from "./draft";
import { placeName } from "./faults";
import { useForm } from "./form-context";
import { knowledgeOf } from "./knowledge";
import { type Typed, typedAs } from "./typed";
import styles from "./yaml.module.css";

export interface YamlHandle {
  /** Go to what is written at a place of the document. */
  readonly goTo: (pointer: string) => void;
  readonly lineOf: (pointer: string) => number;
}

export interface YamlPartProps {
  schema: Shape | undefined;
  algorithms: AlgorithmList;
  workloads: readonly WorkloadView[];
  clusters: readonly ClusterView[];
  /** The draft is that of a clone, which names every default: its text says what differs from them. */
  cloned: boolean;
  typed: Typed | undefined;
  setTyped: (typed: Typed) => void;
  /** What the server says of the document, with `settled`: of the one that is seen. */
  faults: readonly Fault[];
  warnings: readonly Fault[];
  settled: boolean;
  leave: () => void;
  ref?: Ref<YamlHandle>;
}

/** What is wrong with the text as YAML. */
function errorsOf(read: ReadYaml): Mark[] {
  return read.errors.map(({ message, span, where }) => ({
    ...span,
    severity: "error",
    message,
    spoken: `${where}: ${message}.`,
  }));
}

/** What is said of places of the document. */
function faultsOf(read: ReadYaml, faults: readonly Fault[], severity: Mark["severity"]): Mark[] {
  return faults.map(({ pointer, message }) => {
    const span = read.spanOf(pointer);
    const words = `${placeName(pointer)}: ${message}`;
    return { ...span, severity, message: words, spoken: `Line ${read.lineOf(span.from)}, ${words}.` };
  });
}

/** What the text says as a draft, or why it is none. */
function draftIn(read: ReadYaml) {
  const [error] = read.errors;
  return error ? { problem: `${error.where}: ${error.message}` } : draftOf(read.value);
}

/** The draft as YAML: what is typed reaches it as soon as it has a specification's shape. */
export function YamlPart({
  cloned,
  typed,
  setTyped,
  faults,
  warnings,
  settled,
  leave,
  ref,
  ...offered
}: YamlPartProps) {
  const { draft, change } = useForm();
  const editor = useRef<EditorHandle>(null);
  const { schema, algorithms, workloads, clusters } = offered;
  const known = useMemo(
    () => schema && knowledgeOf(schema, { algorithms, workloads, clusters }),
    [schema, algorithms, workloads, clusters],
  );
  const written = useMemo(() => {
    const document = withNamedBaseline(draft);
    return yamlOf(cloned && known ? withoutDefaults(document, known) : document);
  }, [draft, cloned, known]);
  const mine = typedAs("yaml", typed, draft);
  const text = mine?.text ?? written;
  const problem = mine?.problem;
  const read = useMemo(() => readYaml(text), [text]);
  const said = JSON.stringify([faults, warnings]);
  const marks = useMemo(() => {
    if (read.errors.length > 0) return errorsOf(read);
    // it is YAML and no specification: what the server said is of another text
    if (problem !== undefined) return faultsOf(read, [{ pointer: "", message: problem }], "error");
    const [wrong, doubtful]: [Fault[], Fault[]] = JSON.parse(said);
    return settled ? [...faultsOf(read, wrong, "error"), ...faultsOf(read, doubtful, "warning")] : undefined;
  }, [read, problem, said, settled]);
  useImperativeHandle(ref, () => ({
    goTo: (pointer) => editor.current?.goTo(read.spanOf(pointer)),
    lineOf: (pointer) => read.lineOf(read.spanOf(pointer).from),
  }));
  return (
    <>
      <YamlEditor
        ref={editor}
        label="Specification as YAML"
        text={text}
        change={(next) => {
          const found = draftIn(readYaml(next));
          if ("problem" in found) {
            setTyped({ as: "yaml", text: next, problem: found.problem, of: draft });
            return;
          }
          const placed = withPlacedBaseline(found.draft);
          setTyped({ as: "yaml", text: next, of: placed });
          change(() => placed);
        }}
        marks={marks}
        complete={(all, caret) => known && propose(all, caret, known)}
        completes={known !== undefined}
        leave={leave}
      />
      <p className={styles.keys}>
        <kbd>Ctrl</kbd> <kbd>Space</kbd> completes, <kbd>F8</kbd> leads to the next problem, <kbd>Esc</kbd>{" "}
        leaves the editor.
      </p>
    </>
  );
}
