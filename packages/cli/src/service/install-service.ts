import { failure, systemctl, systemctlCommand, systemctlStep, type ServiceDependencies } from "./systemd.ts";
import { marker } from "./service-unit.ts";
import type { ServiceTarget } from "./service-target.ts";

/** A unit to install. */
export interface Installation {
  readonly target: ServiceTarget;
  readonly unit: string;
  /** `undefined` if no variable may contain a secret. */
  readonly environment: string | undefined;
  /** Whether to start the unit now. */
  readonly isStarted: boolean;
  /** Whether to replace files with other content. */
  readonly force: boolean;
}

interface UnitFile {
  readonly path: string;
  /** `undefined`: the file must not exist. */
  readonly text: string | undefined;
  readonly mode: number;
}

/** Time after which a unit that was started must still run, in milliseconds. */
const settleMs = 2_000;

/**
 * Writes the unit, enables it and starts it. A unit that is up to date is only enabled and started if it is not.
 *
 * @throws ProgramError if another unit has the name, before anything has happened, and if systemd refuses a step
 */
export async function installService(installation: Installation, dependencies: ServiceDependencies): Promise<void> {
  const { target, unit, environment, isStarted, force } = installation;
  const { machine, say, clock, signal } = dependencies;
  // The unit is last: without it systemd does not read the other file.
  const files: UnitFile[] = [
    { path: target.environmentFile, text: environment, mode: 0o600 },
    { path: target.unitFile, text: unit, mode: 0o644 },
  ];
  const present = await Promise.all(files.map(({ path }) => machine.read(path)));
  const isNew = present.every((text) => text === undefined);
  const changed = files.filter(({ text }, index) => text !== present[index]);
  for (const [index, { path, text }] of files.entries()) {
    const found = present[index];
    if (found === undefined || found === text || force) continue;
    const who = found.startsWith(marker) ? "an earlier service install wrote it with other settings" : "this program did not write it";
    throw failure(`${path}: exists with other content (${who}); --force replaces it, --name chooses another unit`);
  }

  for (const { path, text, mode } of changed) {
    if (text === undefined) await machine.remove(path);
    else await machine.write(path, text, mode);
    say(`${text === undefined ? "removed" : "wrote"} ${path}`);
  }
  if (changed.length === 0) say(`${target.unitFile} is up to date`);

  const service = `${target.name}.service`;
  await systemctlStep(target, ["daemon-reload"], dependencies);
  if (!isStarted) return systemctlStep(target, ["enable", service], dependencies);
  await systemctlStep(target, ["enable", "--now", service], dependencies);
  if (changed.length > 0 && !isNew) await systemctlStep(target, ["restart", service], dependencies);
  await clock.sleep(settleMs, signal);
  const { code, output } = await systemctl(target, ["is-active", service], dependencies);
  if (code !== 0) {
    const why = `${systemctlCommand(target, ["status", target.name])} and ${journalCommand(target)} say why`;
    throw failure(`${service} is installed, but it does not run: ${output}; ${why}`);
  }
  say(`${service} runs`);
}

/** Command that shows the unit's log. */
export function journalCommand({ name, scope }: ServiceTarget): string {
  return `journalctl ${scope === "user" ? "--user " : ""}-u ${name} -o cat`;
}
