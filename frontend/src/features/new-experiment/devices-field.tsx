import { TextInput } from "@mantine/core";
import { useState } from "react";
import { devicesFrom, devicesText, withDevices } from "./devices";
import { useField, useForm } from "./form-context";

/** Virtual devices of a cluster's workers; as many workers as devices. */
export function DevicesField({ index }: { index: number }) {
  const { value, error, control } = useField(["clusters", index, "virtual", "devices"]);
  const { change } = useForm();
  const [typed, setTyped] = useState<string>();
  const current = devicesText(value);
  const agrees = typed !== undefined && devicesText(devicesFrom(typed)) === current;
  return (
    <TextInput
      {...control}
      label="Devices"
      description="Assumed profiles: 2 v100, cpu-28 (also k80, h100); empty: as above"
      error={error}
      autoComplete="off"
      value={agrees ? typed : current}
      onChange={(event) => {
        const text = event.currentTarget.value;
        setTyped(text);
        change((old) => withDevices(old, index, devicesFrom(text)));
      }}
    />
  );
}
