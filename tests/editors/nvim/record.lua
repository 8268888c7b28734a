-- What record shows Neovim with: the server as contrib/nvim/lsp/tileops.lua configures it, and nothing else.
vim.o.termguicolors = true
vim.o.number = true
vim.o.signcolumn = 'yes'
vim.o.laststatus = 0
vim.o.ruler = false
vim.o.showcmd = false
vim.o.showmode = false
vim.o.shortmess = vim.o.shortmess .. 'FIcsSW'
vim.o.completeopt = 'menuone,noselect,popup'
vim.cmd.colorscheme('habamax')
vim.api.nvim_set_hl(0, 'Normal', {})
vim.keymap.set('n', '<F2>', function() vim.fn.search('KK') end)
vim.diagnostic.config({ virtual_text = { prefix = '■' }, severity_sort = true })
vim.api.nvim_create_autocmd('LspAttach', {
  callback = function(event)
    vim.lsp.inlay_hint.enable(true, { bufnr = event.buf })
    vim.lsp.completion.enable(true, event.data.client_id, event.buf)
  end,
})
vim.lsp.enable('tileops')
