import { systemClock, type Clock } from "@virtual-kubelet/clock";

/** How often the parent process is looked at. */
const intervalMs = 1000;

/** Variable of the environment with the ID of the process that started this one. It may have ended before Node.js runs. */
export const starterVariable = "EMBEDDED_APISERVER_STARTER";

/**
 * Resolves at the first SIGINT or SIGTERM, or when the process that started this one has ended: a test that is killed leaves its servers
 * behind, because envtest starts them in process groups of their own.
 */
export async function untilSignalOrOrphaned(clock: Clock = systemClock): Promise<void> {
  const { env, ppid } = process;
  const parent = Number(env[starterVariable] ?? ppid);
  await new Promise<void>((resolve) => {
    let timer: Disposable | undefined;
    const end = (): void => {
      timer?.[Symbol.dispose]();
      resolve();
    };
    const look = (): void => {
      if (process.ppid === parent) timer = clock.setTimer(intervalMs, look);
      else end();
    };
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, end);
    look();
  });
}
