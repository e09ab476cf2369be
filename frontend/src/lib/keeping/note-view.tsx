import type { Key, ReactNode } from "react";
import styles from "./keeping.module.css";
import { type Block, blocks, type Inline } from "./markdown";

function Part({ part }: { part: Inline }) {
  switch (part.kind) {
    case "strong":
      return <strong>{part.text}</strong>;
    case "em":
      return <em>{part.text}</em>;
    case "code":
      return <code>{part.text}</code>;
    case "link":
      return (
        <a href={part.href} rel="noreferrer noopener" target="_blank">
          {part.text}
        </a>
      );
    default:
      return part.text;
  }
}

/** Parts never move: they are made anew with every change of the text. */
function keyed<T>(items: readonly T[], draw: (item: T, key: Key) => ReactNode): ReactNode[] {
  return items.map((item, index) => draw(item, index));
}

const parts = (all: readonly Inline[]) => keyed(all, (part, key) => <Part key={key} part={part} />);

function BlockView({ block }: { block: Block }) {
  switch (block.kind) {
    case "pre":
      return <pre>{block.text}</pre>;
    case "heading":
      return <h3>{parts(block.parts)}</h3>;
    case "paragraph":
      return <p>{parts(block.parts)}</p>;
    case "list": {
      const items = keyed(block.items, (item, key) => <li key={key}>{parts(item)}</li>);
      return block.ordered ? <ol>{items}</ol> : <ul>{items}</ul>;
    }
  }
}

/** A note: a small part of Markdown as elements, so that no HTML of a note is ever read. */
export function NoteView({ text }: { text: string }) {
  return (
    <div className={styles.note} data-testid="note">
      {keyed(blocks(text), (block, key) => (
        <BlockView key={key} block={block} />
      ))}
    </div>
  );
}
