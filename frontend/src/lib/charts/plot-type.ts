export type { default } from "uplot";
