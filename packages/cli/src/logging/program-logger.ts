import type { Logger } from "@virtual-kubelet/kube-client";
import type { Settings } from "../config/settings.ts";
import type { Context } from "../context.ts";
import { isColoured } from "../is-coloured.ts";
import { formatJson, formatText } from "./formats.ts";
import { createLogger } from "./logger.ts";

/** Creates the program's logger on standard error: text on a terminal and JSON elsewhere, unless the settings choose a format. */
export function createProgramLogger({ level, format }: Settings["log"], { stderr, clock, env }: Context): Logger {
  const isText = format === "text" || (format === "auto" && stderr.isTTY);
  return createLogger({ level, output: stderr, clock, format: isText ? formatText(isColoured(stderr, env)) : formatJson });
}
