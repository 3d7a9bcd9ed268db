module chronoxide

go 1.21
