import type { Command } from "../command.ts";
import { chmod, ls, mkdir, rm, rmdir, touch } from "./file-commands.ts";
import { date, env, fail, hostname, id, printenv, pwd, seq, sleep, stty, succeed, tty, uname } from "./system-commands.ts";
import { tar } from "./tar-command.ts";
import { test } from "./test-command.ts";
import { cat, echo, grep, head, printf, tail, tee, wc } from "./text-commands.ts";

/** Commands of the mock's containers by name. Commands that change the shell itself are builtins. */
export const commands: Readonly<Record<string, Command>> = {
  ":": succeed,
  "[": test,
  cat,
  chmod,
  date,
  echo,
  env,
  false: fail,
  grep,
  head,
  hostname,
  id,
  ls,
  mkdir,
  printenv,
  printf,
  pwd,
  rm,
  rmdir,
  seq,
  sleep,
  stty,
  tail,
  tar,
  tee,
  test,
  touch,
  true: succeed,
  tty,
  uname,
  wc,
  whoami: id,
};
