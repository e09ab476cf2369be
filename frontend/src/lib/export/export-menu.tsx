import { Button, Menu } from "@mantine/core";
import type { ReactNode } from "react";

interface ExportMenuProps {
  of: string;
  children: ReactNode;
  /** In place of its name: what has just been done. */
  said?: string;
  opened?: () => void;
}

/** A small menu of what can be taken away; its label says of what. */
export function ExportMenu({ of, children, said = "Export", opened }: ExportMenuProps) {
  return (
    <Menu shadow="md" position="bottom-end" withinPortal onOpen={opened}>
      <Menu.Target>
        <Button
          size="compact-xs"
          variant="subtle"
          color="gray"
          c="dimmed"
          flex="none"
          aria-label={`${said}: ${of}`}
        >
          {said}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}
