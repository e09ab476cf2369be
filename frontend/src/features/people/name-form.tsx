import { Button, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import screen from "@/lib/ui/screen.module.css";

/** Names of users and projects, as the server accepts them. */
export const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
export const LONGEST = 63;

interface NameFormProps {
  label: string;
  placeholder: string;
  /** What the button says. */
  action: string;
  busy: boolean;
  /** Make what has this name; when it is made, the field is empty again. What goes wrong is told elsewhere. */
  make: (name: string) => Promise<unknown>;
  testIds: { name: string; action: string };
  /** Further fields. */
  children?: ReactNode;
}

/** A form that makes something by its name. */
export function NameForm({ label, placeholder, action, busy, make, testIds, children }: NameFormProps) {
  const [name, setName] = useState("");
  const bad = name !== "" && !NAME.test(name);
  return (
    <form
      className={screen.form}
      onSubmit={(event) => {
        event.preventDefault();
        make(name).then(
          () => setName(""),
          () => undefined,
        );
      }}
    >
      <TextInput
        label={label}
        placeholder={placeholder}
        value={name}
        maxLength={LONGEST}
        error={bad && "Lower-case letters, digits and . - _"}
        onChange={(event) => setName(event.currentTarget.value)}
        data-testid={testIds.name}
      />
      {children}
      <Button type="submit" disabled={name === "" || bad} loading={busy} data-testid={testIds.action}>
        {action}
      </Button>
    </form>
  );
}
