-- nvim --headless --clean -l session.lua CONFIG SERVER FILE: a session of a real editor with the real server. Prints a line
-- for what holds, and ends with 1 at the first that does not.
local config_file, server, file = arg[1], arg[2], arg[3]

local function check(holds, what)
  io.stdout:write(holds and 'ok: ' or 'FAILED: ', what, '\n')
  if not holds then os.exit(1) end
end

local function wait(what, holds) check(vim.wait(20000, holds, 20), what) end

local config = dofile(config_file)
config.cmd[1] = server
vim.lsp.config('tileops', config)
vim.lsp.enable('tileops')
vim.cmd('filetype on')
vim.cmd.edit(file)
local buffer = vim.api.nvim_get_current_buf()
local function client() return vim.lsp.get_clients({ bufnr = buffer, name = 'tileops' })[1] end

wait('the server is attached', function() return client() and client().initialized end)
wait('a defect is shown', function() return #vim.diagnostic.get(buffer) > 0 end)
local defect = vim.diagnostic.get(buffer)[1]
check(defect.code == 'unknown-name' and defect.source == 'tileops', 'it is the unknown name: ' .. tostring(defect.code))
local line = vim.api.nvim_buf_get_lines(buffer, defect.lnum, defect.lnum + 1, false)[1]
check(line:sub(defect.col + 1, defect.end_col) == 'Q', 'it marks the name')

local document = vim.lsp.util.make_text_document_params(buffer)
local here = { textDocument = document, position = { line = defect.lnum, character = defect.col } }
local function ask(method, params)
  local answer, problem = client():request_sync(method, params, 10000, buffer)
  check(answer and not answer.err, method .. ' is answered' .. (problem and ': ' .. problem or ''))
  return answer.result
end
local completion = ask('textDocument/completion', here)
local labels = vim.tbl_map(function(item) return item.label end, completion.items or completion)
check(vim.tbl_contains(labels, 'M'), 'completion has the index')

-- Mend it, as a user would.
vim.api.nvim_buf_set_text(buffer, defect.lnum, defect.col, defect.lnum, defect.end_col, { 'M' })
wait('the defect is gone', function() return #vim.diagnostic.get(buffer) == 0 end)
local hover = ask('textDocument/hover', here)
check(hover.contents.value:find('M', 1, true) ~= nil, 'hover tells of the index')
vim.lsp.inlay_hint.enable(true, { bufnr = buffer })
wait('hints stand in the text', function()
  vim.cmd.redraw()
  return #vim.lsp.inlay_hint.get({ bufnr = buffer }) > 0
end)
vim.api.nvim_win_set_cursor(0, { defect.lnum + 1, defect.col })
vim.lsp.buf.rename('Rows')
wait('the index is renamed', function()
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n'):find('Rows: Dim', 1, true) ~= nil
end)
wait('and nothing is wrong with that', function() return #vim.diagnostic.get(buffer) == 0 end)

-- Another server of the same configuration.
local first = client()
first:stop()
wait('the server ends when it is told', function() return first:is_stopped() end)
os.exit(0)
