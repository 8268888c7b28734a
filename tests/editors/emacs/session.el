;;; A session of a real Emacs with the real server, as contrib/emacs/tileops.el configures it. Prints a line for what
;;; holds, and ends with 1 at the first that does not. -*- lexical-binding: t -*-
(require 'cl-lib)
(unless (require 'yaml-mode nil t) (define-derived-mode yaml-mode prog-mode "YAML"))

(defun check (holds what)
  (princ (format "%s: %s\n" (if holds "ok" "FAILED") what))
  (unless holds (kill-emacs 1)))

(defun wait-for (what holds)
  (let ((until (+ (float-time) 20)) found)
    (while (and (not (setq found (funcall holds))) (< (float-time) until))
      (accept-process-output nil 0.02))
    (check found what)))

(defun defects ()
  (flymake-start)
  (accept-process-output nil 0.02)
  (flymake-diagnostics))

(setq tileops-command (list (getenv "SERVER") "--stdio")
      eglot-sync-connect 10
      eglot-confirm-server-initiated-edits nil)
(add-to-list 'auto-mode-alist '("\\.ya?ml\\'" . yaml-mode))
(add-hook 'yaml-mode-hook #'tileops-ensure)

;; Another YAML file is none of its business.
(find-file (getenv "OTHER"))
(run-hooks 'post-command-hook)
(check (not (eglot-current-server)) "a file that is no manifest has no server")

(find-file (getenv "FILE"))
(run-hooks 'post-command-hook) ; what `eglot-ensure' waits for
(wait-for "the server is attached" #'eglot-current-server)
(wait-for "a defect is shown" #'defects)
(let ((defect (car (defects))))
  (check (string-match-p "Q" (flymake-diagnostic-text defect)) "it is the unknown name")
  (check (equal (buffer-substring (flymake-diagnostic-beg defect) (flymake-diagnostic-end defect)) "Q") "it marks the name")
  (goto-char (flymake-diagnostic-beg defect)))
(let ((names (all-completions "" (nth 2 (eglot-completion-at-point)))))
  (check (member "M" (mapcar #'substring-no-properties names)) "completion has the index"))
;; Mend it, as a user would.
(delete-char 1)
(insert "M")
(eglot--signal-textDocument/didChange)
(wait-for "the defect is gone" (lambda () (not (defects))))
(backward-char)
(let ((hover (jsonrpc-request (eglot-current-server) :textDocument/hover (eglot--TextDocumentPositionParams))))
  (check (string-match-p "M" (format "%s" (plist-get hover :contents))) "hover tells of the index"))
(eglot-rename "Rows")
(check (string-match-p "Rows: Dim" (buffer-string)) "the index is renamed")
(eglot--signal-textDocument/didChange) ; at once, and not when the user rests
(wait-for "and nothing is wrong with that" (lambda () (not (defects))))
(goto-char (point-min))
(search-forward "[Rows, ")
(let* ((places (jsonrpc-request (eglot-current-server) :textDocument/definition (eglot--TextDocumentPositionParams)))
       (place (if (vectorp places) (aref places 0) places))
       (range (or (plist-get place :range) (plist-get place :targetSelectionRange))))
  (check (equal 4 (plist-get (plist-get range :start) :line)) "its declaration is found"))

;; A setting that changes while the server runs.
(tileops-set '(:codes (:unused-index "ignore")))
(goto-char (point-min))
(search-forward "Rows: Dim")
(insert ", Spare: Dim")
(eglot--signal-textDocument/didChange)
(accept-process-output nil 0.5)
(check (not (defects)) "an unused index is no defect where the settings say so")
(tileops-set '(:unreached :json-false))
(wait-for "and is one again where they do not" #'defects)

;; The server dies, and is started again.
(let* ((first (eglot-current-server)) (process (jsonrpc--process first)))
  (setq eglot-autoreconnect nil)
  (kill-process process)
  (wait-for "the server is gone" (lambda () (not (or (process-live-p process) (jsonrpc-running-p first)))))
  (eglot-reconnect first)
  (wait-for "it is started again"
            (lambda () (let ((server (eglot-current-server))) (and server (not (eq server first)) (jsonrpc-running-p server))))))
(wait-for "and shows what is wrong" #'defects)
(set-buffer-modified-p nil)
(let ((server (eglot-current-server)))
  (eglot-shutdown server nil 10)
  (check (not (jsonrpc-running-p server)) "it ends when it is told"))
(kill-emacs 0)
