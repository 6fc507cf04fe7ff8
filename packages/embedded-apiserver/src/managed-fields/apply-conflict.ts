import { ApiStatusError } from "../errors/api-status-error.ts";
import { managerOrderKey, managerText } from "./manager-entries.ts";
import { pathText } from "./path-element.ts";
import type { Conflict } from "./updater.ts";

/**
 * Error for a configuration that changes fields of other managers.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/util/managedfields/internal/conflict.go and pkg/api/errors, `NewApplyConflict`.
 */
export function applyConflict(conflicts: readonly Conflict[]): ApiStatusError {
  const causes = conflicts.map(({ manager, path }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${managerText(manager)}`,
    field: pathText(path),
  }));
  return new ApiStatusError({ code: 409, reason: "Conflict", message: messageOf(conflicts), details: { causes } });
}

function messageOf(conflicts: readonly Conflict[]): string {
  const [first] = conflicts;
  if (conflicts.length === 1 && first !== undefined)
    return `Apply failed with 1 conflict: conflict with ${managerText(first.manager)}: ${pathText(first.path)}`;
  const managers = [...new Set(conflicts.map(({ manager }) => manager))].toSorted((a, b) =>
    managerOrderKey(a) < managerOrderKey(b) ? -1 : 1,
  );
  const lines = managers.flatMap((manager) => [
    `conflicts with ${managerText(manager)}:`,
    ...conflicts.filter((conflict) => conflict.manager === manager).map(({ path }) => `- ${pathText(path)}`),
  ]);
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join("\n")}`;
}
