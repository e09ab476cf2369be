import { Modal } from "@mantine/core";
import { Finder } from "./finder";
import styles from "./palette.module.css";
import { useDeeds } from "./use-deeds";

interface PaletteProps {
  opened: boolean;
  /** `elsewhere`: another page is shown now, and has the focus. */
  close: (elsewhere?: boolean) => void;
}

/** Leads to pages, experiments, algorithms and clusters by their names, and does what needs no page. */
export function Palette({ opened, close }: PaletteProps) {
  const deeds = useDeeds();
  return (
    <>
      {deeds.window}
      <Modal.Root
        opened={opened}
        onClose={() => close()}
        closeOnEscape={false} // the field does that
        returnFocus={false} // whoever opened it does that: not when another page is shown
        size={640}
        classNames={{ content: styles.dialog }}
        yOffset="12vh"
        transitionProps={{ transition: "fade", duration: 100 }}
      >
        <Modal.Overlay backgroundOpacity={0.4} />
        <Modal.Content
          aria-label="Search"
          data-testid="palette"
          onMouseDown={(event) => {
            if (!(event.target instanceof HTMLInputElement)) event.preventDefault(); // the field keeps the focus
          }}
        >
          <Finder close={close} doIt={deeds.begin} />
        </Modal.Content>
      </Modal.Root>
    </>
  );
}
