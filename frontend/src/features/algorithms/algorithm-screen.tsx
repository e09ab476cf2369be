import page from "@docs/algorithms.md?raw";
import { Group, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { listAlgorithmsOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { AlgorithmView } from "@/lib/client/types.gen";
import { paragraphsOf } from "@/lib/format/docstring";
import { quoted } from "@/lib/keeping/quoted";
import { withCode } from "@/lib/ui/code";
import { LinkButton } from "@/lib/ui/link-button";
import { LoadFault } from "@/lib/ui/load-fault";
import { Message } from "@/lib/ui/message";
import screen from "@/lib/ui/screen.module.css";
import { Section } from "@/lib/ui/section";
import { useTitle } from "@/lib/ui/use-title";
import styles from "./algorithms.module.css";
import { CostPart } from "./cost-part";
import { Diagram } from "./diagram";
import { Equations } from "./equations";
import { COST, coordinationOf, costOf, onBadWorker, payloadOf, ranksOf, sameBits } from "./facts";
import { type Figures, figuresOf } from "./figures";
import { MeasuredPart } from "./measured-part";
import { ParametersTable } from "./parameters-table";
import type { AlgorithmSearch } from "./search";
import { type Findings, findingsOf } from "./verified";
import { VerifiedTable } from "./verified-table";

const route = getRouteApi("/algorithms/$algorithm");
const FINDINGS = findingsOf(page);

/** One method: its equations, parameters, and what tests verify of it. */
export function AlgorithmScreen() {
  const { algorithm: name } = route.useParams();
  const query = useQuery(listAlgorithmsOptions());
  const found = query.data?.items.find((one) => one.name === name);
  useTitle(found?.title ?? (query.data ? "Algorithm not found" : "Algorithm"));
  if (found) return <Page algorithm={found} findings={FINDINGS.get(name)} />;
  if (query.data) return <Missing name={name} />;
  if (query.isError) {
    return (
      <>
        <h1 className={screen.title}>Algorithm</h1>
        <LoadFault what="The algorithm could not be loaded." query={query} />
      </>
    );
  }
  return <Skeleton height={420} mt={24} />;
}

function Page({ algorithm, findings }: { algorithm: AlgorithmView; findings: Findings | undefined }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const look = (changes: AlgorithmSearch) =>
    navigate({ search: (old) => ({ ...old, ...changes }), replace: true, resetScroll: false });
  const own = algorithm.origin !== "built-in";
  const figures = own ? undefined : figuresOf(algorithm.name);
  return (
    <>
      <header>
        <nav className={styles.crumb} aria-label="Breadcrumb">
          <Link to="/algorithms">Algorithms</Link>
        </nav>
        <Group justify="space-between" align="flex-start" gap="12px 24px">
          <h1 className={styles.title}>
            {algorithm.title} <code>{algorithm.name}</code>
          </h1>
          <Group gap={8}>
            <LinkButton
              variant="default"
              to="/"
              search={{ filter: `algorithm = ${quoted(algorithm.name)}` }}
              data-testid="measured"
            >
              Experiments with it
            </LinkButton>
            <LinkButton to="/new" search={{ algorithm: algorithm.name }}>
              Try it
            </LinkButton>
          </Group>
        </Group>
        <Facts algorithm={algorithm} />
      </header>
      <Section title="Description" testId="documentation">
        <Text algorithm={algorithm} remarks={findings?.remarks ?? []} />
      </Section>
      <Section title="Communication" testId="exchanges">
        <Exchanges algorithm={algorithm} drawn={figures?.drawn} />
      </Section>
      <Section title="Cost model" testId="cost-model">
        <CostPart
          algorithm={algorithm.name}
          sentence={costOf(algorithm.documentation)}
          prices={figures?.prices}
          network={search.network}
          choose={(network) => look({ network })}
        />
      </Section>
      <Section title="Parameters" testId="parameters">
        <ParametersTable
          algorithm={algorithm}
          bounds={figures?.bounds ?? null}
          workers={search.workers}
          choose={(workers) => look({ workers })}
        />
      </Section>
      <Section title="Measured here" testId="measured-here">
        <MeasuredPart algorithm={algorithm.name} />
      </Section>
      <Section title="Verified by tests" testId="verified">
        {findings && !own ? (
          <VerifiedTable findings={findings} />
        ) : (
          <p className={screen.intro}>Hooke's tests cover the built-in algorithms; this one is your own.</p>
        )}
      </Section>
    </>
  );
}

/** The drawing of a built-in method, or why there is none. */
function Exchanges({ algorithm, drawn }: { algorithm: AlgorithmView; drawn: Figures["drawn"] | undefined }) {
  if (drawn && "rows" in drawn) return <Diagram drawn={drawn} title={algorithm.title} />;
  return (
    <p className={screen.intro}>
      {drawn?.reason ??
        "Only built-in algorithms have a diagram. Record a timeline of a run to see the messages of this one."}
    </p>
  );
}

function Facts({ algorithm }: { algorithm: AlgorithmView }) {
  const facts = [
    ["Family", algorithm.family],
    ["Ranks", ranksOf(algorithm)],
    ["Payload per step", payloadOf(algorithm)],
    ["Coordination", coordinationOf(algorithm)],
    ["Same seed, same bits", sameBits(algorithm)],
    ["NaN on a worker", onBadWorker(algorithm)],
  ];
  return (
    <dl className={styles.facts}>
      {facts.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Equations as they stand in the method's file; prose as paragraphs. */
function Text({ algorithm, remarks }: { algorithm: AlgorithmView; remarks: readonly string[] }) {
  return (
    <div className={styles.text}>
      {paragraphsOf(algorithm.documentation)
        .filter(({ text }) => text.replace(COST, "").trim() !== "")
        .map(({ kind, heading, text }) =>
          kind === "laid out" && text.includes("=") ? (
            <Equations key={text} text={text} />
          ) : kind === "laid out" ? (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
            <pre key={text} className={styles.laidOut} tabIndex={0}>
              {text}
            </pre>
          ) : (
            <p key={text}>
              {heading && <strong>{heading}: </strong>}
              {withCode(text.replace(COST, "").trim())}
            </p>
          ),
        )}
      {remarks.map((remark) => (
        <p key={remark}>{withCode(remark)}</p>
      ))}
    </div>
  );
}

function Missing({ name }: { name: string }) {
  return (
    <Message
      page
      title="Algorithm not found"
      testId="not-found"
      action={<LinkButton to="/algorithms">All algorithms</LinkButton>}
    >
      No cluster offers an algorithm called {name}. Its file may be missing, or its agent may not have
      reported yet.
    </Message>
  );
}
