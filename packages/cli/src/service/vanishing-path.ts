/** Folders of tools that keep several versions or caches, with what makes their content vanish. */
const vanishing: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/\/_npx\//, "npm may empty the cache of npx at any time"],
  [/\/(?:dlx|pnpm-dlx|bunx)-[^/]*\/|\/pnpm\/dlx\//, "the cache of a command that runs a package once may be emptied at any time"],
  [/\/\.nvm\/versions\//, "nvm uninstall or an upgrade removes this version"],
  [/\/fnm_multishells\//, "fnm removes this folder when its shell ends"],
  [/\/(?:\.fnm|fnm)\/node-versions\//, "fnm uninstall or an upgrade removes this version"],
  [
    /\/\.volta\/|\/\.asdf\/installs\/|\/mise\/installs\/|\/\.nodenv\/versions\/|\/n\/versions\/|\/nodebrew\//,
    "the version manager removes this version at an upgrade",
  ],
  [/\/Cellar\//, "Homebrew removes this version at an upgrade"],
  [/^\/(?:var\/)?tmp\//, "the folder for temporary files is emptied"],
];

/** Why a file may vanish while a unit names it; `undefined` if no reason is known. */
export function vanishingPath(path: string): string | undefined {
  const why = vanishing.find(([pattern]) => pattern.test(path))?.[1];
  return why === undefined ? undefined : `the unit names ${path}, which may vanish: ${why}; install it for the whole machine instead`;
}
