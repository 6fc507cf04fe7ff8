import type { ConformanceOptions } from "@virtual-kubelet/testing/conformance";
import { breakProvider, hanging, type Change } from "../broken-provider.ts";
import { mockOptions, processOptions, recordingOptions } from "../good-providers.ts";

type Options = () => ConformanceOptions & Partial<AsyncDisposable>;

/** A fault, a part of the name of the check that finds it, what that says, and a provider with the fault. */
export type Row = readonly [fault: string, check: string, says: RegExp, options: Options];

/** The mock with a fault. */
export const mock =
  (change: Change): Options =>
  () =>
    breakProvider(mockOptions(), change);
/** The mock with the fault that something does not come back. */
export const hangingMock =
  (change: Change): Options =>
  () =>
    hanging(breakProvider(mockOptions(), change));
/** The recording provider with a fault. */
export const recording =
  (change: Change): Options =>
  () =>
    breakProvider(recordingOptions(), change);
/** The process provider with a fault. */
export const processes =
  (change: Change): Options =>
  () =>
    breakProvider(processOptions(), change);

/** Never settles. */
export const forever: Promise<never> = new Promise<never>(() => {});
/** Never aborts. */
export const never: AbortSignal = new AbortController().signal;
