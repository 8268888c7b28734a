-- tileops-lsp for Neovim 0.11 and later.
--
--   1. Copy this file to ~/.config/nvim/lsp/tileops.lua.
--   2. In init.lua: vim.lsp.enable('tileops')
--   3. For the bytes of rows and rooflines in the text: vim.lsp.inlay_hint.enable(true)
--
-- `:checkhealth vim.lsp` shows whether it is attached. It judges op manifests alone, so that it can stand beside
-- yaml-language-server.
return {
  cmd = { 'tileops-lsp', '--stdio' },
  filetypes = { 'yaml' },
  root_markers = { 'tileops.toml', 'manifest', '.git' },
  settings = {
    tileops = {
      unreached = false, -- judgments that could not be made, as hints
      codes = {}, -- levels of codes where tileops.toml says none: { ['unused-index'] = 'advisory' }
      hints = { rooflines = true, differences = true, rows = true, records = true },
      lenses = { counts = true, runs = true }, -- shown after vim.lsp.codelens.refresh()
      -- records = { 'records' }, profile = 'profiles/h200.yaml', -- where tileops.toml names none
      -- bench = 'tileops-bench', -- the program that the server prices rows with, where it is to
    },
  },
}
