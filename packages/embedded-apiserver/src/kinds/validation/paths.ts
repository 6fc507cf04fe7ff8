import type { FieldError } from "../kind.ts";
import { invalidValue } from "./field-errors.ts";

/** Relative path that does not leave its base directory. */
export function descendingPathErrors(path: string, field: string): FieldError[] {
  return [...(path.startsWith("/") ? [invalidValue(field, path, "must be a relative path")] : []), ...backstepErrors(path, field)];
}

/** Path without `..`. */
export function backstepErrors(path: string, field: string): FieldError[] {
  return path.split("/").includes("..") ? [invalidValue(field, path, "must not contain '..'")] : [];
}

/** Path of a file in a volume; names that start with two dots are reserved for the kubelet. */
export function volumeFilePathErrors(path: string, field: string): FieldError[] {
  const isReserved = path.startsWith("..") && !path.startsWith("../");
  return [...descendingPathErrors(path, field), ...(isReserved ? [invalidValue(field, path, "must not start with '..'")] : [])];
}

export function fileModeErrors(mode: number | undefined, field: string): FieldError[] {
  return mode !== undefined && (mode < 0 || mode > 0o777)
    ? [invalidValue(field, mode, "must be a number between 0 and 0777 (octal), both inclusive")]
    : [];
}
