import { failure, systemctl, systemctlStep, type ServiceDependencies } from "./systemd.ts";
import { marker } from "./service-unit.ts";
import type { ServiceTarget } from "./service-target.ts";

/**
 * Stops, disables and removes a unit that this program wrote, with its variables. The state folder stays.
 *
 * @throws ProgramError before anything has happened if there is no such unit or this program did not write it, and if systemd refuses a step
 */
export async function uninstallService(target: ServiceTarget, dependencies: ServiceDependencies): Promise<void> {
  const { machine, say } = dependencies;
  const unit = await machine.read(target.unitFile);
  if (unit === undefined)
    throw failure(`${target.unitFile}: does not exist, so there is nothing to uninstall; --nodename or --name names another unit`);
  if (!unit.startsWith(marker)) throw failure(`${target.unitFile}: this program did not write it, so it stays`);
  const environment = await machine.read(target.environmentFile);

  const service = `${target.name}.service`;
  await systemctlStep(target, ["disable", "--now", service], dependencies);
  if (environment?.startsWith(marker)) {
    await machine.remove(target.environmentFile);
    say(`removed ${target.environmentFile}`);
  }
  await machine.remove(target.unitFile);
  say(`removed ${target.unitFile}`);
  await systemctlStep(target, ["daemon-reload"], dependencies);
  // Fails if the unit had not failed.
  await systemctl(target, ["reset-failed", service], dependencies);
}
