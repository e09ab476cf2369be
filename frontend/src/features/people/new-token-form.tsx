import { Button, Checkbox, NativeSelect, NumberInput, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { createTokenMutation, listTokensQueryKey } from "@/lib/client/@tanstack/react-query.gen";
import type { Me, Role } from "@/lib/client/types.gen";
import { highest, includes } from "@/lib/people/roles";
import { ErrorPanel } from "@/lib/ui/error-panel";
import screen from "@/lib/ui/screen.module.css";
import { ShownOnce } from "@/lib/ui/shown-once";

const SCOPES: readonly { value: string; label: string; least: Role }[] = [
  { value: "read", label: "read", least: "viewer" },
  { value: "submit", label: "submit, and read", least: "researcher" },
  { value: "operate", label: "operate, and submit", least: "operator" },
  { value: "admin", label: "admin: everything", least: "admin" },
];
const LABEL = /^[A-Za-z0-9][A-Za-z0-9 ._@/-]{0,99}$/;
const DAYS = 90;

/** Makes a token of the user, or of a machine, and shows it once. */
export function NewTokenForm({ me }: { me: Me }) {
  const [label, setLabel] = useState("");
  const [scope, setScope] = useState("read");
  const [days, setDays] = useState<string | number>(DAYS);
  const [machine, setMachine] = useState(!me.is_user);
  const client = useQueryClient();
  const create = useMutation({
    ...createTokenMutation(),
    onSuccess: () => {
      setLabel("");
      return client.invalidateQueries({ queryKey: listTokensQueryKey() });
    },
  });
  const bad = label !== "" && !LABEL.test(label);
  return (
    <>
      <p className={screen.note}>
        Programs and the command line send a token: <code>HOOKE_TOKEN=… hooke runs list</code>. It has at most
        the rights of {me.is_user ? "your role" : "its scope"}, expires, and is shown only once.
      </p>
      <form
        className={screen.form}
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate({ body: { label, scope, days: Number(days), machine } });
        }}
      >
        <TextInput
          label="Label"
          placeholder="laptop"
          value={label}
          maxLength={100}
          error={bad && "Letters, digits, space and . _ @ / -"}
          onChange={(event) => setLabel(event.currentTarget.value)}
          data-testid="token-label"
        />
        <NativeSelect
          label="Scope"
          value={scope}
          data={SCOPES.filter(({ least }) => includes(highest(me), least)).map(({ value, label }) => ({
            value,
            label,
          }))}
          onChange={(event) => setScope(event.currentTarget.value)}
        />
        <NumberInput
          label="Valid for, days"
          w={130}
          min={1}
          max={730}
          allowDecimal={false}
          value={days}
          onChange={setDays}
        />
        <Button
          type="submit"
          disabled={label === "" || bad || typeof days !== "number"}
          loading={create.isPending}
          data-testid="create-token"
        >
          Create token
        </Button>
        {me.is_user && includes(me.role, "admin") && (
          <Checkbox
            mt={30}
            label="For a machine"
            checked={machine}
            onChange={(event) => setMachine(event.currentTarget.checked)}
          />
        )}
      </form>
      {create.isError && <ErrorPanel what="The token could not be created." error={create.error} />}
      {create.data && (
        <ShownOnce text={create.data.token} testId="new-token">
          The token {create.data.label} is not shown again.
        </ShownOnce>
      )}
    </>
  );
}
