import { TextInput } from "@mantine/core";
import { useState } from "react";
import { devicesFrom, devicesText, NOTATION, withDevices } from "./devices";
import { useField, useForm } from "./form-context";

/** Kinds of a cluster's workers, of a virtual one its devices; as many workers as these. */
export function DevicesField({ index, virtual }: { index: number; virtual: boolean }) {
  const place = virtual ? ["virtual", "devices"] : ["groups"];
  const { value, error, control } = useField(["clusters", index, ...place]);
  const { change } = useForm();
  const [typed, setTyped] = useState<string>();
  const current = devicesText(value);
  const agrees = typed !== undefined && devicesText(devicesFrom(typed)) === current;
  return (
    <TextInput
      {...control}
      label={virtual ? "Devices" : "Kinds of workers"}
      description={
        virtual
          ? "Such as 2 v100, cpu-28 (assumed; also k80, h100), hogwild-cpu:8 (threads), 2 cpu@0.5; empty: all equal"
          : "Such as cuda, hogwild-cpu:8 (threads on shared weights), 2 cpu@0.5 (half the speed); empty: all equal"
      }
      title={NOTATION}
      error={error}
      autoComplete="off"
      value={agrees ? typed : current}
      onChange={(event) => {
        const text = event.currentTarget.value;
        setTyped(text);
        change((old) => withDevices(old, index, devicesFrom(text), virtual));
      }}
    />
  );
}
