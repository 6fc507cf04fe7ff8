import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";

/** Meanings of the system errors that a wrong path causes. */
const problems: Readonly<Record<string, string>> = { ENOENT: "not there", EISDIR: "a folder", EACCES: "not readable for this program" };

/**
 * Reads a file that a setting names.
 *
 * @param setting - such as `authFile`
 * @throws InvalidInputError with the setting and the path
 */
export function readSettingFile(setting: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const problem = Object.hasOwn(problems, code) ? problems[code] : messageOf(error);
    throw new InvalidInputError(`${setting}: "${path}": ${problem}, expected a readable file`);
  }
}

/**
 * Reads certificate authorities, and returns them with those that Node.js trusts by default.
 *
 * @throws InvalidInputError as {@link readSettingFile}, and for a file without a certificate
 */
export function readAuthorities(caFile: string | undefined): readonly string[] | undefined {
  if (caFile === undefined) return undefined;
  const text = readSettingFile("caFile", caFile).toString("utf8");
  try {
    void new X509Certificate(text);
  } catch {
    throw new InvalidInputError(`caFile: "${caFile}": expected certificates in PEM`);
  }
  return [...rootCertificates, text];
}
