import { PasswordInput } from "@mantine/core";
import { fault, LEAST } from "./new-password";

interface NewPasswordFieldsProps {
  password: string;
  repeated: string;
  onPassword: (value: string) => void;
  onRepeated: (value: string) => void;
}

/** A new password, twice. */
export function NewPasswordFields(props: NewPasswordFieldsProps) {
  const { password, repeated } = props;
  const wrong = password === "" ? undefined : fault(password, repeated);
  const differs = repeated !== "" && repeated !== password;
  return (
    <>
      <PasswordInput
        label="New password"
        description={`At least ${LEAST} characters`}
        autoComplete="new-password"
        maxLength={256}
        value={password}
        error={differs ? undefined : wrong}
        onChange={(event) => props.onPassword(event.currentTarget.value)}
        data-testid="new-password"
      />
      <PasswordInput
        label="New password again"
        autoComplete="new-password"
        maxLength={256}
        value={repeated}
        error={differs ? wrong : undefined}
        onChange={(event) => props.onRepeated(event.currentTarget.value)}
        data-testid="new-password-again"
      />
    </>
  );
}
